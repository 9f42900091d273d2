#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=1000000 node --max-semi-space-size=16 --heap-growing-percent=50
// The command `svc` of the installed package. CommonJS and old syntax on purpose: a Node that is too old for the service
// must still be able to read this file and say so.
'use strict'

const { existsSync } = require('node:fs')
const { join } = require('node:path')
const { pathToFileURL } = require('node:url')

const { engines } = require('../package.json')
const wanted = /\d+\.\d+/.exec(engines.node)[0]
const [major, minor] = process.versions.node.split('.').map(Number)
const [wantedMajor, wantedMinor] = wanted.split('.').map(Number)
const main = join(__dirname, '../dist/cli/main.js')

if (major < wantedMajor || (major === wantedMajor && minor < wantedMinor)) {
  console.error(
    `svc: Node ${wanted} or newer is needed, and this is ${process.versions.node}. Node 24 is recommended: https://nodejs.org`,
  )
  process.exitCode = 1
} else if (!existsSync(main)) {
  console.error(`svc: this is a checkout that is not built: run npm start in ${join(__dirname, '..')}`)
  process.exitCode = 1
} else {
  // GraphQL checks itself less in production.
  process.env.NODE_ENV = process.env.NODE_ENV || 'production'
  void import(pathToFileURL(main).href)
}
