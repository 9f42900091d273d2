/** Positions in the write-ahead log (`0/3000148`), and the segments that contain them. */
export function parseLsn(text: string): bigint {
  const [high = '', low = ''] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}

export const formatLsn = (lsn: bigint): string =>
  `${(lsn >> 32n).toString(16).toUpperCase()}/${(lsn & 0xffffffffn).toString(16).toUpperCase()}`

/** The number of the segment that contains a position. */
export const segmentOf = (lsn: bigint, segmentBytes: number): bigint => lsn / BigInt(segmentBytes)

/** The file name of a segment: timeline and number, 24 hexadecimal digits. */
export function segmentName(timeline: number, segment: bigint, segmentBytes: number): string {
  const perId = 0x1_0000_0000n / BigInt(segmentBytes)
  return [BigInt(timeline), segment / perId, segment % perId]
    .map((part) => part.toString(16).toUpperCase().padStart(8, '0'))
    .join('')
}

export function segmentNumber(name: string, segmentBytes: number): bigint {
  const perId = 0x1_0000_0000n / BigInt(segmentBytes)
  return BigInt(`0x${name.slice(8, 16)}`) * perId + BigInt(`0x${name.slice(16, 24)}`)
}

export const timelineOf = (name: string): number => Number.parseInt(name.slice(0, 8), 16)
