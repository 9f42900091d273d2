import { expect, test } from 'vitest'
import { isGuessablePassword } from '../../src/domain/users/guessable-passwords.ts'

const ADA = { email: 'ada.lovelace@analytical.example', name: 'Ada Lovelace' }

test.each([
  'ada.lovelace@analytical.example',
  'Lovelace2026!',
  'L0vel4ce-1815',
  'lovelace.ada',
  'AdaLovelace1',
  'analytical99',
  'ExperimentMonitor',
  'experiment-monitor-1',
  'M0n1tor!M0n1tor!',
  'aaaaaaaaaaaa',
  '................',
  'abababababab',
  'xyz1xyz1xyz1',
])('a password that is made of what guessers know is refused: %s', (password) => {
  expect(isGuessablePassword(password, ADA)).toBe(true)
})

test.each([
  'correct horse battery',
  'the lovelace of my life',
  'monitor lizards bite',
  '839214670215',
  'ab12ab12ab1',
  'größenwahn im garten',
  'x'.repeat(1_024),
])('a password with enough of its own is accepted: %s', (password) => {
  expect(isGuessablePassword(password, ADA)).toBe(false)
})
