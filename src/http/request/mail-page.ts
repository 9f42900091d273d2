import type { FastifyInstance } from 'fastify'
import { escapeHtml } from '../../domain/escape-html.ts'

const STYLE = '/api/mail.css'

/**
 * A page that a link in a mail opens: plain HTML with a form, which works without the app and without scripts.
 * @param contents safe HTML
 */
export const mailPage = (title: string, contents: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="${STYLE}"></head>
<body><main><h1>${escapeHtml(title)}</h1>
${contents}</main></body></html>
`

/** The style of these pages, in a file, because the content security policy (security-headers.ts) allows no inline styles. */
export function mailPageRoutes(app: FastifyInstance): void {
  app.get(STYLE, { schema: { hide: true } }, (_request, reply) =>
    reply.type('text/css; charset=utf-8').header('cache-control', 'max-age=300').send(MAIL_CSS),
  )
}

const MAIL_CSS = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#fff, #14171b); --ink: light-dark(#1c2127, #e4e8ec); --faint: light-dark(#5a6572, #9aa5b1);
  --rule: light-dark(#e1e5ea, #2b3138); --soft: light-dark(#f5f7f9, #1b1f24); --accent: light-dark(#0b63c5, #7db5ff);
  --good: light-dark(#0a6640, #6fcf97);
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 14px/1.5 system-ui, sans-serif; }
main { max-width: 560px; margin: 12vh auto 0; padding: 0 20px 40px; }
h1 { font-size: 22px; margin: 0 0 8px; }
p { margin: 4px 0; max-width: 75ch; }
a { color: var(--accent); text-decoration: none; }
main p a { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
form { margin-top: 20px; border-top: 1px solid var(--rule); }
form p { max-width: none; margin: 0; border-bottom: 1px solid var(--rule); }
button {
  width: 100%; padding: 10px 2px; border: 0; background: none; color: var(--accent); font: inherit; text-align: left;
  overflow-wrap: anywhere; cursor: pointer;
}
button:hover { background: var(--soft); text-decoration: underline; }
.faint { color: var(--faint); }
.said { padding: 8px 12px; border-left: 2px solid var(--good); background: var(--soft); overflow-wrap: anywhere; }
`
