import { createContext, useContext, useEffect, useRef, useState } from 'react'
import { served } from '../lib/served.ts'

/** Players that are played together: what one does, the others do. */
export interface Together {
  add(player: HTMLMediaElement): () => void
  /** @param from the player that the user moved */
  follow(from: HTMLMediaElement): void
}

export function createTogether(): Together {
  const players = new Set<HTMLMediaElement>()
  return {
    add(player) {
      players.add(player)
      return () => players.delete(player)
    },
    follow(from) {
      for (const player of players) {
        if (player === from) continue
        if (Math.abs(player.currentTime - from.currentTime) > 0.15) player.currentTime = from.currentTime
        if (player.paused !== from.paused)
          void (from.paused ? player.pause() : player.play()?.catch(() => {}))
      }
    },
  }
}

/** Null: each player is played alone. */
export const PlayTogether = createContext<Together | null>(null)

export function Player({ kind, url, name }: { kind: 'audio' | 'video'; url: string; name: string }) {
  const ref = useRef<HTMLVideoElement & HTMLAudioElement>(null)
  const together = useContext(PlayTogether)
  const [broken, setBroken] = useState<string>()
  useEffect(() => {
    const at = ref.current
    return at === null ? undefined : together?.add(at)
  }, [together])
  const follow = (): void => {
    if (ref.current !== null) together?.follow(ref.current)
  }
  if (broken === url) return <p className="text-muted">This browser cannot play it. Download it instead.</p>
  const shared = {
    ref,
    src: served(url),
    controls: true,
    preload: 'metadata',
    'aria-label': name,
    onPlay: follow,
    onPause: follow,
    onSeeked: follow,
    onError: () => setBroken(url),
  } as const
  return kind === 'audio' ? (
    <audio {...shared} className="h-10 w-full max-w-lg" />
  ) : (
    <video {...shared} playsInline className="aspect-video w-full max-w-xl rounded-md bg-black" />
  )
}
