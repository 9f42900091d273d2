import { statfs } from 'node:fs/promises'
import { Gauge, type Registry } from 'prom-client'

/** Reports the free space on the disk of the embedded database, at each scrape. */
export function countDisk(folder: string | undefined, registers: Registry[]): void {
  if (folder === undefined) return
  const gauge = (name: string, help: string, blocks: 'bavail' | 'blocks'): void => {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const room = await statfs(folder).catch(() => undefined)
        // If the folder cannot be read, no value is reported; a zero would raise an alarm.
        if (room === undefined) this.remove()
        else this.set(room[blocks] * room.bsize)
      },
    })
  }
  gauge('svc_disk_free_bytes', 'Free space on the disk of the embedded database', 'bavail')
  gauge('svc_disk_bytes', 'Size of the disk of the embedded database', 'blocks')
}
