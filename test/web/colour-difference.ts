/** sRGB as three shares of full light, 0 to 1. */
type Linear = readonly [number, number, number]
type Lab = readonly [lightness: number, a: number, b: number]
type Matrix = readonly [Linear, Linear, Linear]

/** How dichromats see colours, on linear light: Machado, Oliveira and Fernandes 2009, severity 1. */
export const SIGHTS: Readonly<Record<'normal' | 'protanopia' | 'deuteranopia' | 'tritanopia', Matrix>> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
}

function linearOf(hex: string): Linear {
  const part = (at: number): number => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }
  return [part(1), part(3), part(5)]
}

/** CIE L*a*b* under D65 of a colour as `sight` sees it. */
export function labOf(hex: string, sight: Matrix = SIGHTS.normal): Lab {
  const seen = linearOf(hex)
  const [r, g, b] = sight.map((row) =>
    Math.min(1, Math.max(0, row[0] * seen[0] + row[1] * seen[1] + row[2] * seen[2])),
  ) as [number, number, number]
  const bend = (t: number): number => (t > 216 / 24_389 ? Math.cbrt(t) : (841 / 108) * t + 16 / 116)
  const x = bend((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047)
  const y = bend(0.2126729 * r + 0.7151522 * g + 0.072175 * b)
  const z = bend((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883)
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)]
}

const degrees = (radians: number): number => (radians * 180) / Math.PI
const radians = (deg: number): number => (deg * Math.PI) / 180

/** CIEDE2000: 1 is just noticeable side by side. After Sharma, Wu and Dalal 2005. */
export function differenceOf([l1, a1, b1]: Lab, [l2, a2, b2]: Lab): number {
  const chroma = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2
  const g = 0.5 * (1 - Math.sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7)))
  const hueOf = (b: number, a: number): number =>
    a === 0 && b === 0 ? 0 : (degrees(Math.atan2(b, a)) + 360) % 360
  const [p1, p2] = [(1 + g) * a1, (1 + g) * a2]
  const [c1, c2] = [Math.hypot(p1, b1), Math.hypot(p2, b2)]
  const [h1, h2] = [hueOf(b1, p1), hueOf(b2, p2)]
  const grey = c1 * c2 === 0
  const far = Math.abs(h1 - h2) > 180
  const turn = grey ? 0 : h2 - h1 + (far ? (h2 > h1 ? -360 : 360) : 0)
  const sum = h1 + h2
  const hue = grey ? sum : far ? (sum < 360 ? sum + 360 : sum - 360) / 2 : sum / 2
  const dL = l2 - l1
  const dC = c2 - c1
  const dH = 2 * Math.sqrt(c1 * c2) * Math.sin(radians(turn / 2))
  const lightness = (l1 + l2) / 2
  const mean = (c1 + c2) / 2
  const t =
    1 -
    0.17 * Math.cos(radians(hue - 30)) +
    0.24 * Math.cos(radians(2 * hue)) +
    0.32 * Math.cos(radians(3 * hue + 6)) -
    0.2 * Math.cos(radians(4 * hue - 63))
  const sL = 1 + (0.015 * (lightness - 50) ** 2) / Math.sqrt(20 + (lightness - 50) ** 2)
  const sC = 1 + 0.045 * mean
  const sH = 1 + 0.015 * mean * t
  const rotation =
    -Math.sin(radians(60 * Math.exp(-(((hue - 275) / 25) ** 2)))) *
    2 *
    Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7))
  return Math.sqrt((dL / sL) ** 2 + (dC / sC) ** 2 + (dH / sH) ** 2 + rotation * (dC / sC) * (dH / sH))
}

/** WCAG 2: from 1, the same, to 21, black on white. */
export function contrastOf(one: string, other: string): number {
  const luminance = (hex: string): number => {
    const [r, g, b] = linearOf(hex)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}
