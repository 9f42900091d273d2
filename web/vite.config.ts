import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { linkPreviews } from './link-previews.ts'

/** Below this, what is saved is less than a packet. */
const WORTH_BYTES = 1024

const COMMON =
  /web\/src\/(lib\/(words|charts\/colours|live\/focus)|ui\/(when|copy|row-links))\.tsx?$|useMutation/
/** What pages of hosts show as well. */
const BATCH_PARTS =
  /web\/src\/(pages\/batch\/(arrivals|context|control|use-jobs)|lib\/(api\/control|live\/points))\.tsx?$/
const BATCH_FRAME = /web\/src\/(pages\/batch\/(batch|header|actions|ladder)|lib\/api\/signs)\.tsx?$/

/** Writes every text of the build once more as .br and as .gz beside it, as tight as it gets: the service only sends. */
const compressed = (): Plugin => ({
  name: 'compressed',
  apply: 'build',
  async writeBundle({ dir = '' }, bundle) {
    const texts = Object.keys(bundle).filter((name) => /\.(js|css|html|svg)$/.test(name))
    await Promise.all(
      texts.map(async (name) => {
        const path = join(dir, name)
        const text = await readFile(path)
        if (text.length < WORTH_BYTES) return
        const params = {
          [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
          [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
        }
        await Promise.all([
          promisify(brotliCompress)(text, { params }).then((packed) => writeFile(`${path}.br`, packed)),
          promisify(gzip)(text, { level: 9 }).then((packed) => writeFile(`${path}.gz`, packed)),
        ])
      }),
    )
  },
})

/** GraphiQL brings its fonts as data, which the content security policy refuses; it has others to fall back on. */
const withoutFonts = (): Plugin => ({
  name: 'without-fonts',
  enforce: 'pre',
  transform: {
    filter: { id: /node_modules\/graphiql\/dist\/style\.css/ },
    handler: (code) => code.replace(/@font-face\s*\{[^}]*\}/g, ''),
  },
})

/** The page, built into dist/web, which the service serves. `npm run dev` proxies everything else to it. */
export default defineConfig({
  root: import.meta.dirname,
  // Scripts and styles name each other relative to themselves, so that the service may be below a path of its host; the
  // documents name them from the root, and the service puts the path before (src/http/server/web.ts).
  experimental: {
    renderBuiltUrl: (file, { hostType }) => (hostType === 'html' ? `/${file}` : { relative: true }),
  },
  plugins: [react(), tailwindcss(), linkPreviews(), withoutFonts(), compressed()],
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    // The content security policy allows no inline data for scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // Its table of all codecs starts WebAssembly, which the content security policy refuses; the page names those it needs.
      treeshake: { moduleSideEffects: [{ test: /hyparquet-compressors/, sideEffects: false }] },
      // The app, and the pages for developers at /graphql and /api/docs, which share only libraries with it.
      input: ['index.html', 'graphiql.html', 'api-docs.html'].map((file) => join(import.meta.dirname, file)),
      output: {
        // What every page needs is two files rather than twenty: a browser asks for six at a time, and what is
        // compressed together weighs less. The libraries stay in its cache when the page changes.
        codeSplitting: {
          groups: [
            { name: 'libraries', tags: ['$initial'], test: /node_modules|preload-helper/, priority: 2 },
            { name: 'core', tags: ['$initial'], test: /web\/src\/(?!reference\/)/, priority: 1 },
            // Likewise what most pages say things with, and what stands around every tab of a batch.
            { name: 'common', test: COMMON },
            { name: 'batch-parts', test: BATCH_PARTS },
            { name: 'batch-frame', test: BATCH_FRAME },
          ],
        },
      },
    },
  },
  worker: { format: 'es' },
  server: {
    proxy: Object.fromEntries(
      ['/api', '/graphql', '/livez', '/readyz'].map((path) => [path, 'http://127.0.0.1:8080']),
    ),
  },
})
