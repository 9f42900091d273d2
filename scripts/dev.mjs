#!/usr/bin/env node
// What `npm run dev` runs: the service, started again on every change of src/, and the page with hot reload beside it.
// Open the page's address; it passes everything that is not its own on to the service.
import { spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureClient } from './generate-client.mjs'

const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
const bin = (name) => join(ROOT, 'node_modules/.bin', name)
ensureClient()
const programs = [
  spawn(bin('tsx'), ['watch', '--clear-screen=false', 'src/cli/main.ts', 'start'], {
    cwd: ROOT,
    stdio: 'inherit',
  }),
  spawn(bin('vite'), ['web'], { cwd: ROOT, stdio: 'inherit' }),
]
const end = () => {
  for (const program of programs) program.kill('SIGTERM')
}
for (const program of programs) program.once('exit', end)
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, end)
