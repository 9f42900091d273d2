/** The style sheet of /api/docs: one column of operations beside a list of them; light and dark follow the system. */
export const DOCS_STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1c2127; --faint: #5a6572; --rule: #e1e5ea; --soft: #f5f7f9; --accent: #0b63c5;
  --get: #0a6640; --post: #0b63c5; --put: #7a4b00; --patch: #7a4b00; --delete: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --ink: #e4e8ec; --faint: #9aa5b1; --rule: #2b3138; --soft: #1b1f24; --accent: #7db5ff;
    --get: #6fcf97; --post: #7db5ff; --put: #e8b45a; --patch: #e8b45a; --delete: #ff8a80;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 12px; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 14px/1.5 system-ui, sans-serif; }
code, pre { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 13px; }
a { color: var(--accent); text-decoration: none; }
a:hover, a:focus-visible { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 12px; top: 12px; }
nav { position: fixed; inset: 0 auto 0 0; width: 300px; overflow-y: auto; padding: 20px; border-right: 1px solid var(--rule); }
nav p { margin: 16px 0 4px; color: var(--faint); text-transform: capitalize; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li { overflow-wrap: anywhere; }
nav a { display: block; padding: 1px 0; color: inherit; }
main { margin-left: 300px; padding: 20px 32px 80px; max-width: 1100px; }
h1 { font-size: 22px; margin: 0 0 8px; }
h2 { font-size: 18px; margin: 40px 0 0; padding-bottom: 6px; border-bottom: 1px solid var(--rule); text-transform: capitalize; }
h3 { font-size: 14px; margin: 28px 0 4px; overflow-wrap: anywhere; }
h4 { font-size: 13px; margin: 14px 0 4px; color: var(--faint); font-weight: 600; }
p { margin: 4px 0; max-width: 75ch; }
.faint { color: var(--faint); }
.method { display: inline-block; min-width: 52px; font-weight: 700; font-size: 12px; }
.GET { color: var(--get); } .POST { color: var(--post); } .PUT { color: var(--put); }
.PATCH { color: var(--patch); } .DELETE { color: var(--delete); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--rule); }
th { color: var(--faint); font-weight: 600; }
main ul { list-style: none; margin: 0; padding: 4px 0 4px 12px; border-left: 2px solid var(--rule); }
main li { margin-top: 4px; }
.note { margin: 0 0 0 12px; color: var(--faint); }
main p a, .faint a { text-decoration: underline; }
details { margin: 2px 0; }
summary { cursor: pointer; }
.letter main { max-width: 560px; margin: 12vh auto 0; padding: 0 20px 40px; }
.letter form { margin-top: 20px; border-top: 1px solid var(--rule); }
.letter form p { max-width: none; margin: 0; border-bottom: 1px solid var(--rule); }
.letter button {
  width: 100%; padding: 10px 2px; border: 0; background: none; color: var(--accent); font: inherit; text-align: left;
  overflow-wrap: anywhere; cursor: pointer;
}
.letter button:hover { background: var(--soft); text-decoration: underline; }
.letter .said { padding: 8px 12px; border-left: 2px solid var(--get); background: var(--soft); overflow-wrap: anywhere; }
pre { background: var(--soft); border: 1px solid var(--rule); padding: 10px 12px; overflow-x: auto; }
@media (max-width: 800px) {
  nav { position: static; width: auto; border-right: 0; border-bottom: 1px solid var(--rule); }
  main { margin-left: 0; padding: 16px; }
}
`
