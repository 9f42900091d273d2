import Bowser from 'bowser'

/** The usual name of the program behind a `User-Agent` header: `Firefox on Linux`, `python-requests`. */
export function deviceName(userAgent: string | null): string {
  if (userAgent === null || userAgent.trim() === '') return 'Unknown device'
  const { browser, os } = Bowser.parse(userAgent)
  const program = browser.name || /^[\w.-]{1,40}/.exec(userAgent)?.[0] || 'Unknown program'
  return os.name ? `${program} on ${os.name}` : program
}
