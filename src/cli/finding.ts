/** One result of `svc doctor`. `advice` says how to fix a problem. */
export interface Finding {
  state: 'ok' | 'warning' | 'failure'
  subject: string
  text: string
  advice?: string
}

export const ok = (subject: string, text: string): Finding => ({ state: 'ok', subject, text })
export const warning = (subject: string, text: string, advice: string): Finding => ({
  state: 'warning',
  subject,
  text,
  advice,
})
export const failure = (subject: string, text: string, advice: string): Finding => ({
  state: 'failure',
  subject,
  text,
  advice,
})
