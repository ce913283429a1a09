// Builds the console into ../dist: one page, one script, one style sheet, one icon. With --watch nothing is minified and
// every change of a source builds again, for work on the console beside `make run`.
import { context, build } from "esbuild";
import { copyFile, mkdir, rm } from "node:fs/promises";

const out = new URL("../dist/", import.meta.url).pathname;
const watch = process.argv.includes("--watch");
const options = {
  entryPoints: { console: "src/main.tsx" },
  outdir: out,
  bundle: true,
  format: "esm",
  target: ["chrome111", "firefox115", "safari16.4"],
  minify: !watch,
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "info",
};

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
for (const file of ["index.html", "icon.svg"]) await copyFile(`src/${file}`, out + file);
if (watch) await (await context(options)).watch();
else await build(options);
