import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildWheels, pythonVersion, type WheelIndex } from '../../scripts/wheels.mjs'
import { startTestApp, type TestApp } from '../kit/app.ts'

const ROOT = join(import.meta.dirname, '../..')
const run = promisify(execFile)

let app: TestApp
let built: WheelIndex
beforeAll(async () => {
  built = buildWheels()
  app = await startTestApp()
})
afterAll(() => app?.stop())

const get = async (path: string, accept?: string) => {
  const answer = await fetch(app.address + path, accept === undefined ? {} : { headers: { accept } })
  const bytes = Buffer.from(await answer.arrayBuffer())
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    url: answer.url,
    bytes,
    text: bytes.toString(),
  }
}
const JSON_V1 = 'application/vnd.pypi.simple.v1+json'
const HTML_V1 = 'application/vnd.pypi.simple.v1+html'

test('the packages have the version of package.json', async () => {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  expect(built.files.map((file) => [file.project, file.version])).toEqual([
    ['svc-agent', pythonVersion(version)],
    ['svc-reporter', pythonVersion(version)],
  ])
  expect(['1.2.3', '1.2.3-alpha.1', '1.2.3-beta.22', '1.2.3-rc.3'].map(pythonVersion)).toEqual([
    '1.2.3',
    '1.2.3a1',
    '1.2.3b22',
    '1.2.3rc3',
  ])
  expect(() => pythonVersion('1.2.3-nightly')).toThrow('no version that Python has a form for')
})

test('two builds give the same bytes', async () => {
  const folders = await Promise.all([0, 1].map(() => mkdtemp(join(tmpdir(), 'svc-wheels-'))))
  for (const folder of folders) buildWheels(folder)
  const [first, second] = await Promise.all(
    folders.map(async (folder) =>
      Promise.all(
        (await readdir(folder))
          .sort()
          .map(async (name) => [name, sha256(await readFile(join(folder, name)))]),
      ),
    ),
  )
  expect(first).toHaveLength(5)
  expect(second).toEqual(first)
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true })))
})

test('a wheel has the hash of every file in it, and no dependencies', async () => {
  for (const { filename } of built.files) {
    // Python's own reader: it checks the archive, its record and the metadata.
    const { stdout } = await run('python3', ['-c', CHECK, join(ROOT, 'dist/pip', filename)])
    const { bad, files, requires, name } = JSON.parse(stdout)
    // Only requirements of extras, each with one condition.
    expect({ bad, requires: requires.filter((one: string) => !/^[^;]+; [^;]*extra == /.test(one)) }).toEqual({
      bad: [],
      requires: [],
    })
    expect(files).toContain(`${name.replace('-', '_')}/_version.py`)
    expect(files.filter((path: string) => /pyc$|tests\//.test(path))).toEqual([])
  }
})

test('the index answers with HTML (PEP 503) or JSON (PEP 691), as the client accepts', async () => {
  for (const accept of [undefined, '*/*', 'text/html', 'text/html, application/json;q=0.5']) {
    const html = await get('/pip/simple/', accept)
    expect([html.status, html.type]).toEqual([200, 'text/html; charset=utf-8'])
    expect(html.text).toContain('<a href="svc-reporter/">svc-reporter</a>')
  }
  expect((await get('/pip/simple/svc-agent/', HTML_V1)).type).toBe(HTML_V1)
  // What pip itself sends.
  const asPip = `${JSON_V1}, ${HTML_V1}; q=0.1, text/html; q=0.01`
  const json = await get('/pip/simple/', asPip)
  expect([json.type, JSON.parse(json.text)]).toEqual([
    JSON_V1,
    { meta: { 'api-version': '1.1' }, projects: [{ name: 'svc-agent' }, { name: 'svc-reporter' }] },
  ])
  const [agent] = built.files
  expect(JSON.parse((await get('/pip/simple/svc-agent/', asPip)).text)).toEqual({
    meta: { 'api-version': '1.1' },
    name: 'svc-agent',
    versions: [agent?.version],
    files: [
      {
        filename: agent?.filename,
        url: `../../files/${agent?.filename}`,
        hashes: { sha256: agent?.sha256 },
        'requires-python': '>=3.10',
        size: agent?.size,
        'core-metadata': { sha256: agent?.metadata_sha256 },
      },
    ],
  })
})

test('a link of the index leads to the wheel that it hashes', async () => {
  for (const project of ['svc-agent', 'svc-reporter']) {
    const page = await get(`/pip/simple/${project}/`)
    const [, href, hash] =
      /<a href="([^"#]+)#sha256=([0-9a-f]{64})" data-requires-python="&gt;=3.10"/.exec(page.text) ?? []
    const wheel = await get(new URL(href as string, page.url).pathname)
    expect([wheel.status, wheel.type, sha256(wheel.bytes)]).toEqual([200, 'application/octet-stream', hash])
    const metadata = await get(`${new URL(href as string, page.url).pathname}.metadata`)
    expect(metadata.text).toMatch(new RegExp(`^Metadata-Version: 2.4\nName: ${project}\n`))
    expect(page.text).toContain(`data-core-metadata="sha256=${sha256(metadata.bytes)}"`)
  }
})

test('names in other spellings redirect to the normalized name, and unknown names are 404', async () => {
  for (const spelling of ['svc_reporter', 'SVC.Reporter/', 'svc--reporter/', 'svc-reporter']) {
    const answer = await get(`/pip/simple/${spelling}`)
    expect([answer.status, new URL(answer.url).pathname]).toEqual([200, '/pip/simple/svc-reporter/'])
  }
  expect(new URL((await get('/pip/simple')).url).pathname).toBe('/pip/simple/')
  for (const path of [
    '/pip/simple/requests/',
    '/pip/files/index.json',
    '/pip/files/..%2f..%2fpackage.json',
    '/pip/x',
  ])
    expect([path, (await get(path, 'text/html')).status]).toEqual([path, 404])
})

test('the service sends the needed version to reporters, and to no other client', async () => {
  const ada = await app.register()
  const token = await app.reporterToken(ada.token)
  const post = (agent: string) =>
    app.call('POST', '/api/events/batch', { token, body: [], headers: { 'user-agent': agent } })
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const needed = (await post('svc-reporter/0.1.0 python/3.12')).headers['x-svc-reporter-needed'] as string
  expect(needed).toMatch(/^\d+\.\d+\.\d+$/)
  // Never one that is not out yet.
  expect(needed.localeCompare(version, 'en', { numeric: true })).toBeLessThanOrEqual(0)
  expect((await post('curl/8.0')).headers['x-svc-reporter-needed']).toBeUndefined()
})

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const CHECK = `
import base64, csv, hashlib, io, json, sys, zipfile
from email.parser import Parser
wheel = zipfile.ZipFile(sys.argv[1])
info = next(n for n in wheel.namelist() if n.endswith(".dist-info/RECORD"))
rows = list(csv.reader(io.StringIO(wheel.read(info).decode())))
digest = lambda b: "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(b).digest()).rstrip(b"=").decode()
bad = [p for p, h, s in rows if p != info and (digest(wheel.read(p)), str(len(wheel.read(p)))) != (h, s)]
bad += sorted(set(wheel.namelist()) ^ {p for p, _, _ in rows}) + ([wheel.testzip()] if wheel.testzip() else [])
meta = Parser().parsestr(wheel.read(info.replace("RECORD", "METADATA")).decode())
print(json.dumps({"bad": bad, "files": wheel.namelist(), "requires": meta.get_all("Requires-Dist") or [], "name": meta["Name"]}))
`
