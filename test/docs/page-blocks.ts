import { execFile, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { freshEnvironment } from '../../scripts/python.mjs'
import { COMMAND } from '../kit/command.ts'

/** The blocks of code in the documentation, and how to run them as a reader does. */
const ROOT = join(import.meta.dirname, '../..')

export interface Block {
  language: string
  file?: string
  example?: string
  code: string
}

export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(/^```(\S*)(.*)\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', info = '', code = '']) => {
      const file = /\bfile=(\S+)/.exec(info)?.[1]
      const example = /\bexample=(\S+)/.exec(info)?.[1]
      return { language, code, ...(file && { file }), ...(example && { example }) }
    },
  )
}

/**
 * A fresh Python with the reporter that the service at `address` hands out, and `svc`, the command line of this checkout.
 * @returns the folder of its programs
 */
export async function installReporter(folder: string, address: string): Promise<string> {
  const bin = await freshEnvironment(join(folder, 'venv'))
  // By its address, because the command is run from other folders.
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
  const words = COMMAND.map((word) => (word === 'tsx' ? loader : word))
  const command = [process.execPath, ...words].map((word) => `'${word}'`).join(' ')
  writeFileSync(join(bin, 'svc'), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 })
  const install = ['-m', 'pip', 'install', '-q', '--index-url', `${address}/pip/simple/`, 'svc-reporter']
  await promisify(execFile)(join(bin, 'python'), install, { env: cleanEnvironment(folder, bin) })
  return bin
}

/** The variables of a person who has nothing set up, with the programs of `bin`. */
export function cleanEnvironment(home: string, bin: string): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(SVC_|PIP_|SLURM_|NODE_|VITEST)/.test(name))
  return {
    ...(Object.fromEntries(kept) as Record<string, string>),
    HOME: home,
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    PIP_CONFIG_FILE: '/dev/null',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
  }
}

/** Runs a script of bash. @returns its exit code, and all that it wrote */
export function bash(
  script: string,
  cwd: string,
  env: Record<string, string>,
): Promise<{ code: number; said: string }> {
  return new Promise((resolve) => {
    // Without an input: bash reads the settings of a person where it takes its input for a remote shell's.
    const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        said += chunk
      })
    child.once('close', (code) => resolve({ code: code ?? 1, said }))
  })
}
