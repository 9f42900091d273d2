import { Code } from './copy.tsx'

/** What to paste into another page to show a link there. @param props.link its address, for where the service is */
export function EmbedCodes({
  token,
  link,
  report = false,
}: {
  token: string
  link: string
  report?: boolean
}) {
  const home = link.slice(0, link.lastIndexOf(report ? '/sr/' : '/s/'))
  const at = `${home}/api/${report ? 'shared-reports' : 'shared'}/${token}`
  const frame = `<iframe src="${at}/embed" width="680" height="400" style="border:0"></iframe>`
  return (
    <div className="flex w-full min-w-0 flex-col gap-2">
      <Code text={frame} label="Frame" />
      {!report && (
        <>
          <Code text={`![chart](${at}/chart.png)`} label="Picture" />
          <Code text={`![status](${at}/badge.svg)`} label="Badge" />
        </>
      )}
    </div>
  )
}
