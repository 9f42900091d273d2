import { useEffect, useRef, useState } from 'react'

/** Renders user-written Markdown. Shows the plain text until the renderer is loaded, or if loading fails. */
export function Markdown({ text }: { text: string }) {
  const box = useRef<HTMLDivElement>(null)
  const [shown, setShown] = useState<string | null>(null)
  useEffect(() => {
    let wanted = true
    import('../lib/markdown.ts').then(
      ({ markdownElements }) => {
        if (!wanted) return
        box.current?.replaceChildren(markdownElements(text))
        setShown(text)
      },
      () => {},
    )
    return () => {
      wanted = false
    }
  }, [text])
  return (
    <>
      {shown !== text && <p className="max-w-prose whitespace-pre-wrap">{text}</p>}
      <div ref={box} data-markdown className="markdown max-w-prose" hidden={shown !== text} />
    </>
  )
}
