import { ChevronRight, File as FileIcon, Folder as FolderIcon } from 'lucide-react'
import { useEffect, useState } from 'react'
import { bytesText, count, some } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'
import { Name } from '../ui/name.tsx'
import { type Folder, foldersOf, nameOf } from './tree.ts'

/** Entries of one folder beyond these are shown on request. */
const FIRST = 200
/** With fewer files, all folders are open at first. */
const FEW = 30

interface Open {
  has(path: string): boolean
  toggle(path: string): void
}

/** Files by folders. */
export function FileTree(props: { root: Folder; shown: string | undefined; onShow: (path: string) => void }) {
  const { root, shown } = props
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const opensAll = root.count <= FEW
  const open: Open = {
    // A single folder at the top is open.
    has: (path) =>
      (opensAll ||
        (root.files.length === 0 && root.folders.length === 1 && path === root.folders[0]?.path)) !==
      toggled.has(path),
    toggle: (path) =>
      setToggled((before) => {
        const next = new Set(before)
        if (!next.delete(path)) next.add(path)
        return next
      }),
  }
  // A link to a file opens its folders.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each shown file
  useEffect(() => {
    const closed = foldersOf(shown ?? '').filter((path) => !open.has(path))
    if (closed.length > 0) setToggled((before) => new Set([...before, ...closed]))
  }, [shown])
  return (
    <ul className="flex flex-col" aria-label="Files">
      <Entries folder={root} depth={0} open={open} shown={shown} onShow={props.onShow} />
    </ul>
  )
}

function FolderButton(props: {
  folder: Folder
  indent: { paddingLeft: number }
  isOpen: boolean
  onToggle: (path: string) => void
}) {
  const { folder, indent, isOpen, onToggle } = props
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      className="flex h-7 w-full items-center gap-1.5 rounded pr-2 text-left hover:bg-hover pointer-coarse:h-9"
      style={indent}
      onClick={() => onToggle(folder.path)}
    >
      <ChevronRight
        className={`size-3.5 shrink-0 text-muted transition-transform ${isOpen ? 'rotate-90' : ''}`}
        aria-hidden="true"
      />
      <FolderIcon className="size-3.5 shrink-0 text-muted" aria-hidden="true" />
      <span className="min-w-0 flex-1 truncate">
        <Name>{folder.name}</Name>
      </span>
      <span className="text-xs text-muted tabular-nums">{some(folder.count, 'file')}</span>
      <span className="w-20 text-right text-xs text-muted tabular-nums">{bytesText(folder.size)}</span>
    </button>
  )
}

function Entries(props: {
  folder: Folder
  depth: number
  open: Open
  shown: string | undefined
  onShow: (path: string) => void
}) {
  const { folder, depth, open, shown, onShow } = props
  const [all, setAll] = useState(false)
  const files = all ? folder.files : folder.files.slice(0, FIRST)
  const indent = { paddingLeft: 8 + depth * 16 }
  return (
    <>
      {folder.folders.map((one) => (
        <li key={one.path}>
          <FolderButton folder={one} indent={indent} isOpen={open.has(one.path)} onToggle={open.toggle} />
          {open.has(one.path) && (
            <ul>
              <Entries {...props} folder={one} depth={depth + 1} />
            </ul>
          )}
        </li>
      ))}
      {files.map((file) => (
        <li key={file.path} data-row>
          <button
            type="button"
            data-open
            data-file={file.path}
            aria-current={file.path === shown || undefined}
            title={file.path}
            className={`flex h-7 w-full items-center gap-1.5 rounded pr-2 text-left hover:bg-hover pointer-coarse:h-9 ${file.path === shown ? 'bg-accent-soft' : ''}`}
            style={{ paddingLeft: indent.paddingLeft + 20 }}
            onClick={() => onShow(file.path)}
          >
            <FileIcon className="size-3.5 shrink-0 text-muted" aria-hidden="true" />
            <span className="min-w-0 flex-1 truncate">
              <Name>{nameOf(file.path)}</Name>
            </span>
            <span className="w-20 text-right text-xs text-muted tabular-nums">{bytesText(file.size)}</span>
          </button>
        </li>
      ))}
      {folder.files.length > FIRST && (
        <li style={indent}>
          <Button look="quiet" onClick={() => setAll(!all)}>
            {all ? `Show the first ${FIRST}` : `Show all ${count(folder.files.length)} files`}
          </Button>
        </li>
      )}
    </>
  )
}
