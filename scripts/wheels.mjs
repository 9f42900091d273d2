#!/usr/bin/env node
// Builds the wheels of svc-reporter and svc-agent into dist/pip, from where the service hands them out (docs/install.md).
// Plain Node, so that a build needs no Python. Two builds of the same sources give the same bytes: entries are sorted,
// dated 1980-01-01 and stored without compression (what zlib writes depends on its version).
//
//   node scripts/wheels.mjs [FOLDER]
//
// Formats: wheel https://packaging.python.org/specifications/binary-distribution-format/, metadata 2.4
// https://packaging.python.org/specifications/core-metadata/.
import { createHash } from 'node:crypto'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'smol-toml'
import { zip } from './zip.mjs'

const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
const PROJECTS = ['python/agent', 'python/reporter']

/**
 * The service's version as Python writes it: 1.2.3-beta.4 → 1.2.3b4 (PEP 440).
 * @throws Error for a version that has no such form
 */
export function pythonVersion(version) {
  const parts = /^(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.(\d+))?$/.exec(version)
  if (parts === null) throw new Error(`package.json: ${version} is no version that Python has a form for`)
  const [, release, stage, number] = parts
  return stage === undefined ? release : `${release}${{ alpha: 'a', beta: 'b', rc: 'rc' }[stage]}${number}`
}

/**
 * Builds every wheel, and `index.json`, which says what is there.
 * @returns the index: `files`, each with project, version, filename, requires_python, size in bytes, and SHA-256 in hex
 *   of the file and of its metadata
 */
export function buildWheels(folder = join(ROOT, 'dist/pip')) {
  const version = pythonVersion(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version)
  const wheels = PROJECTS.map((project) => wheelOf(join(ROOT, project), version))
  const index = {
    files: wheels.map(({ name, filename, requiresPython, bytes, metadata }) => ({
      project: name,
      version,
      filename,
      requires_python: requiresPython,
      size: bytes.length,
      sha256: sha256(bytes, 'hex'),
      metadata_sha256: sha256(metadata, 'hex'),
    })),
  }
  mkdirSync(folder, { recursive: true })
  for (const { filename, bytes, metadata } of wheels) {
    replaceFile(join(folder, filename), bytes)
    replaceFile(join(folder, `${filename}.metadata`), metadata)
  }
  replaceFile(join(folder, 'index.json'), `${JSON.stringify(index, null, 2)}\n`)
  const kept = new Set([
    'index.json',
    ...wheels.flatMap(({ filename }) => [filename, `${filename}.metadata`]),
  ])
  // A file that another build is writing ends with its process id.
  for (const name of readdirSync(folder))
    if (!kept.has(name) && !/\.\d+$/.test(name)) rmSync(join(folder, name), { force: true })
  return index
}

function wheelOf(root, version) {
  const { project, tool } = parse(readFileSync(join(root, 'pyproject.toml'), 'utf8'))
  const { name } = project
  const { packages } = tool.hatch.build.targets.wheel
  const stem = `${name.replaceAll('-', '_')}-${version}`
  const info = `${stem}.dist-info`
  const metadata = Buffer.from(metadataOf(project, version, readFileSync(join(root, project.readme), 'utf8')))
  const scripts = Object.entries(project.scripts).map(([command, target]) => `${command} = ${target}\n`)
  const entries = [
    ...packages.flatMap((source) =>
      sourcesIn(join(root, source)).map((path) => ({
        path: `${source.replace(/^src\//, '')}/${path}`,
        bytes: readFileSync(join(root, source, path)),
      })),
    ),
    { path: `${info}/METADATA`, bytes: metadata },
    { path: `${info}/WHEEL`, bytes: Buffer.from(WHEEL) },
    { path: `${info}/entry_points.txt`, bytes: Buffer.from(`[console_scripts]\n${scripts.join('')}`) },
    { path: `${info}/licenses/LICENSE`, bytes: readFileSync(join(ROOT, 'LICENSE')) },
  ]
  const record = entries.map(
    ({ path, bytes }) => `${path},sha256=${sha256(bytes, 'base64url')},${bytes.length}\n`,
  )
  entries.push({ path: `${info}/RECORD`, bytes: Buffer.from(`${record.join('')}${info}/RECORD,,\n`) })
  return {
    name,
    filename: `${stem}-py3-none-any.whl`,
    requiresPython: project['requires-python'],
    bytes: zip(entries),
    metadata,
  }
}

const WHEEL = 'Wheel-Version: 1.0\nGenerator: svc\nRoot-Is-Purelib: true\nTag: py3-none-any\n'

/** A requirement of an extra. It may have a condition of its own, and pip refuses two conditions. */
function forExtra(requirement, extra) {
  const [needed, condition] = requirement.split(/\s*;\s*/)
  return `${needed}; ${condition === undefined ? '' : `(${condition}) and `}extra == '${extra}'`
}

function metadataOf(project, version, readme) {
  if (project.dependencies.length > 0) throw new Error(`${project.name}: it is to have no dependencies`)
  const extras = Object.entries(project['optional-dependencies'] ?? {}).flatMap(([extra, needed]) => [
    `Provides-Extra: ${extra}`,
    ...needed.map((one) => `Requires-Dist: ${forExtra(one, extra)}`),
  ])
  const lines = [
    'Metadata-Version: 2.4',
    `Name: ${project.name}`,
    `Version: ${version}`,
    `Summary: ${project.description}`,
    `License-Expression: ${project.license}`,
    'License-File: LICENSE',
    ...project.classifiers.map((one) => `Classifier: ${one}`),
    `Requires-Python: ${project['requires-python']}`,
    ...extras,
    'Description-Content-Type: text/markdown',
  ]
  return `${lines.join('\n')}\n\n${readme}`
}

/** Also metadata of a distribution: `svc-reporter run-as-wandb` answers for wandb. */
const SHIPPED = /\.(py|json)$|^(py\.typed|METADATA|INSTALLER)$/

/** The Python files of a package, their data and its marker for types, by path below it, sorted. */
function sourcesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && SHIPPED.test(entry.name))
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort()
}

const sha256 = (bytes, encoding) => createHash('sha256').update(bytes).digest(encoding)

/** A reader sees the old file or the new one, whole. */
export function replaceFile(path, content) {
  const fresh = `${path}.${process.pid}`
  writeFileSync(fresh, content)
  renameSync(fresh, path)
}

if (process.argv[1] && realpathSync(process.argv[1]) === realpathSync(fileURLToPath(import.meta.url)))
  buildWheels(process.argv[2] && resolve(process.argv[2]))
