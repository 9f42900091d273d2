import { serverAudits } from 'graphql-http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../kit/app.ts'

// The GraphQL-over-HTTP specification, by the audits of its reference implementation (contract §6 "GraphQL").

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app?.stop())

const audits = serverAudits({ url: () => `${app.address}/graphql`, fetchFn: fetch })

describe('GraphQL over HTTP', () => {
  test('is checked by all 61 audits of graphql-http', () => {
    expect(audits).toHaveLength(61)
  })

  for (const audit of audits) {
    test(`${audit.id} ${audit.name}`, async () => {
      const result = await audit.fn()
      expect(result.status, 'reason' in result ? result.reason : '').toBe('ok')
    })
  }
})
