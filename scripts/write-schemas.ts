/** Writes the generated documents of schemas/; `--check` fails when one differs from what stands (npm run check). */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventJsonSchema } from '../src/domain/events/index.ts'

const folder = join(import.meta.dirname, '..', 'schemas')
const documents: Record<string, string> = {
  'event_v1.json': `${JSON.stringify(eventJsonSchema(), null, 2)}\n`,
}

let stale = 0
for (const [name, text] of Object.entries(documents)) {
  const file = join(folder, name)
  const standing = await readFile(file, 'utf8').catch(() => '')
  if (standing === text) continue
  if (process.argv.includes('--check')) {
    stale++
    console.error(`schemas/${name} is not what the code generates: run npm run generate`)
  } else {
    await writeFile(file, text)
    console.log(`wrote schemas/${name}`)
  }
}
process.exitCode = stale > 0 ? 1 : 0
