import { Link } from '@tanstack/react-router'
import { links } from '../../lib/links.ts'

const tab = {
  className: '-mb-px border-b-2 border-transparent px-2 py-1.5 whitespace-nowrap text-muted hover:text-ink',
  activeProps: { className: '!border-accent !text-ink' },
} as const

/** The tabs of a project. */
export const ProjectTabs = ({ slug }: { slug: string }) => (
  <nav
    aria-label="Views of the project"
    className="fade-end -mt-2 flex gap-1 overflow-x-auto border-b border-line"
  >
    <Link {...links.project(slug)} {...tab} activeOptions={{ exact: true }}>
      Batches
    </Link>
    <Link {...links.reports(slug)} {...tab}>
      Reports
    </Link>
    <Link {...links.artifacts(slug)} {...tab} activeOptions={{ includeSearch: false }}>
      Artifacts
    </Link>
    <Link {...links.members(slug)} {...tab}>
      Members
    </Link>
    <Link {...links.rules(slug)} {...tab}>
      Rules
    </Link>
  </nav>
)
