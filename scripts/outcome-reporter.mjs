// A reporter of vitest for scripts/test.mjs: what came of each test file, as JSON in the file that TEST_OUTCOME names.
// Beside what vitest's own writes it counts the errors that belong to no test.
import { writeFileSync } from 'node:fs'

export default class {
  onTestRunEnd(modules, unhandled) {
    const files = modules.map((module) => {
      const tests = [...module.children.allTests()]
      const inState = (state) => tests.filter((test) => test.result().state === state)
      return {
        file: module.moduleId,
        passed: inState('passed').length,
        failures: inState('failed').map((test) => ({
          name: test.fullName,
          why: test.result().errors[0]?.message,
        })),
        // Without a failing test it is a hook, or the file cannot be loaded.
        ok: module.ok(),
      }
    })
    writeFileSync(process.env.TEST_OUTCOME, JSON.stringify({ files, unhandled: unhandled.length }))
  }
}
