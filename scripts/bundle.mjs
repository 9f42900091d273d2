#!/usr/bin/env node
// Builds the service into dist/cli: src and the packages that it imports, as a few files. A process that loads 1,400 modules
// one by one starts a third later and takes 20 MB more at rest (decision 0044). The files keep their lines and names, so that
// stacks can be read.
//
// All files are in one folder, two below the root. So `import.meta.dirname` is as deep as in src/db or src/cli, and files of
// other depths may not use it (scripts/conventions.ts).
import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
const OUT = join(ROOT, 'dist/cli')
/** Packages that stay outside: with binaries, shared with what an operator installs, or that packages ask for and do not need. */
const EXTERNAL = ['argon2', '@opentelemetry/*', 'pg-native', 'typescript']

/** Node finds the named exports of a package in CommonJS by itself, which a dynamic import in a bundle does not. */
const loadedLater = {
  name: 'loaded-later',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^[^.]/ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    ),
}

rmSync(OUT, { recursive: true, force: true })
await build({
  absWorkingDir: ROOT,
  entryPoints: ['src/cli/main.ts'],
  outdir: OUT,
  bundle: true,
  // A dynamic import of a file stays one.
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external: EXTERNAL,
  plugins: [loadedLater],
  // For packages in CommonJS.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)",
  },
  // Node keeps the text of every module in memory. Lines and names stay short enough to find a line of a stack.
  minifyWhitespace: true,
  lineLimit: 120,
  // Every package has its licence beside it in node_modules.
  legalComments: 'none',
  logLevel: 'warning',
})
