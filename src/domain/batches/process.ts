import { isRecord } from '../../checked.ts'
/** The process that reports a batch: no other process of any host has the same three. */
export interface Process {
  pid: number
  start_time: string
  boot_id: string
}

/** `data.process` of a batch_start, if it is complete. */
export function processIn(data: Record<string, unknown>): Process | null {
  const { pid, start_time, boot_id } = isRecord(data.process) ? data.process : {}
  const isWord = (value: unknown): value is string =>
    typeof value === 'string' && value.length > 0 && value.length <= 128
  const isPid = typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0
  return isPid && isWord(start_time) && isWord(boot_id) ? { pid, start_time, boot_id } : null
}
