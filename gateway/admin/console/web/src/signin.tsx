// Asks for the admin token, once for as long as the tab is open.
import { useEffect, useRef, useState } from "preact/hooks";
import { Refusal, request, token } from "./api";
import { Button } from "./ui/basic";

export function SignIn({ done }: { done: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [error, setError] = useState(token.get() ? "The gateway does not accept this token." : "");
  const [busy, setBusy] = useState(false);
  useEffect(() => field.current?.focus(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    const value = field.current!.value.trim();
    if (!value) {
      setError("Enter the token.");
      field.current?.focus();
      return;
    }
    setBusy(true);
    token.set(value);
    try {
      await request("/api/status");
      done();
    } catch (e) {
      setError(e instanceof Refusal && e.status === 401 ? "The gateway does not accept this token." : String((e as Error).message));
      field.current?.select();
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="signin">
      <form class="panel pad stack" onSubmit={(e) => void submit(e)}>
        <h1>GPUStack Gateway</h1>
        <p class="muted">This address wants the admin token, the one in the file that --admin-token-file names. It is kept until the tab is closed.</p>
        <div class="field">
          <label for="token">Admin token</label>
          <input ref={field} id="token" type="password" autocomplete="current-password" spellcheck={false} aria-invalid={!!error} aria-describedby="token-error" />
          <p class="error" id="token-error" role="alert">
            {error}
          </p>
        </div>
        <Button kind="primary" type="submit" disabled={busy}>
          Continue
        </Button>
      </form>
    </main>
  );
}
