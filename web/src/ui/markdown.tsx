import { useEffect, useRef, useState } from 'react'

/** A text that users wrote in Markdown. Until the code for that is loaded, and without it, the text as it was typed. */
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
