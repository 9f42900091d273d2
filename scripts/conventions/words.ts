// Plain words, and citations that lead somewhere.
import { filesUnder, linesWith, read, sources } from './sources.ts'

/** This check names what it forbids. */
const SELF = 'scripts/conventions/words.ts'
const markdown = filesUnder('docs', 'bench', 'python').filter((path) => path.endsWith('.md'))

/** Words that docs/glossary.md and plain sentences do without, each with what to write instead. */
const ODD_WORDS: Record<string, string> = {
  'whoever|whatever|whatsoever|whence|hence|thereof|lest':
    'name the person or thing: "a client that", "any", "so that"',
  anew: '"again", or a verb: recompute, reload, restart',
  'is\\s+told|is\\s+asked\\s+of':
    'who sends what to whom: "is sent", "gets", "is notified", "is called with"',
  'is\\s+to\\s+be\\s+had|be\\s+had': '"is available"',
  'it\\s+stands|as\\s+it\\s+is': '"is", "unchanged", "exactly"',
  'in\\s+vain|by\\s+heart|of\\s+its\\s+own\\s+accord|is\\s+no\\s+more':
    'the plain fact: "without a result", "by itself", "has ended"',
  'log\\s+of\\s+changes': '"change log"',
  doors: '"transports" (http, graphql), "listener", "servers"',
  'struck\\s+out|lets\\s+go\\s+of|in\\s+passing|beforehand|forth':
    'the plain verb: "removed", "releases", "in advance", "forward"',
  '(servers?|processes)\\s+that\\s+(are|is)\\s+no\\s+more|of\\s+no\\s+more': '"dead", "ended"',
  'nobody|somebody|anybody': 'the role: "the caller", "a user", "no client", "anyone"',
  '_?(MOST|LEAST)_\\w+': 'MAX_… or MIN_…',
}

/** The words of the list in code, docs and messages. */
export function oddWords(): string[] {
  const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CODE_OF_CONDUCT.md']
  const any = new RegExp(`\\b(${Object.keys(ODD_WORDS).join('|')})\\b`, 'gi')
  return [...sources, ...markdown, ...pages, 'prisma/schema.prisma']
    .filter((path) => path !== SELF)
    .flatMap((path) => {
      const text = read(path)
      return [...text.matchAll(any)].map((match) => {
        const line = text.slice(0, match.index).split('\n').length
        return `${path}:${line}: "${match[0]}"; write ${insteadOf(match[0])}`
      })
    })
}

const insteadOf = (word: string): string | undefined =>
  Object.entries(ODD_WORDS).find(([words]) => new RegExp(`^(${words})$`, 'i').test(word))?.[1]

/** The text of each numbered section of docs/contract.md. */
const sectionsOfContract = (): Map<string, string> =>
  new Map(
    read('docs/contract.md')
      .split(/^## /m)
      .flatMap((text): [string, string][] => {
        const number = /^(\d+)\. /.exec(text)?.[1]
        return number === undefined ? [] : [[number, text]]
      }),
  )

/** Citations of the contract or the specification without a section in docs, or whose subject is not there. */
export function brokenCitations(): string[] {
  const contract = sectionsOfContract()
  if (contract.size !== 11) return [`docs/contract.md has ${contract.size} numbered sections, not 11`]
  const specification = read('docs/specification-notes.md')
  return [...sources, 'prisma/schema.prisma'].flatMap((path) => {
    // A citation may go over the end of a line of a comment.
    const text = read(path).replace(/\n\s*(\*|\/\/|#)?\s*/g, ' ')
    return [...text.matchAll(/\b(contract|specification),? §(\d+)((?:\.\d+)*)(?: "([^"']+)")?/g)]
      .filter(([, book, section = '', part = '', subject]) => {
        if (book === 'specification')
          return (
            !specification.includes(`\n| ${section}${part} |`) && !specification.includes(`\n| ${section} |`)
          )
        const words = contract.get(section)
        return (
          words === undefined ||
          (subject !== undefined && !words.toLowerCase().includes(subject.toLowerCase()))
        )
      })
      .map(([citation]) => `${path}: ${citation}`)
  })
}

/** Comments that cite documents that are not in the repository. */
export function foreignCitations(): string[] {
  const cited = linesWith(
    [...sources, ...markdown].filter((path) => path !== SELF),
    /(?<![\w/-])((goals|design|examples|web|contract)\.md\b|design §)/,
  )
  return cited.filter((line) => !/docs\/contract\.md|^docs\/[^:]+\.md:.*contract\.md/.test(line))
}
