import { render } from "preact";
import { App } from "./app";
import "./style/console.css";

render(<App />, document.getElementById("app")!);
