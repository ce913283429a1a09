// The focus, for elements that are not there yet.
import { useEffect, useRef } from "preact/hooks";

// useFocus returns a function that gives the focus to the element of an id, once a render has made it.
export function useFocus(): (id: string) => void {
  const wanted = useRef("");
  useEffect(() => {
    const element = wanted.current && document.getElementById(wanted.current);
    if (!element) return;
    wanted.current = "";
    element.focus();
  });
  return (id) => (wanted.current = id);
}
