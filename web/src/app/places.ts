/** Titles of pages that have no other name. */
export const PAGES: Record<string, string> = {
  '/': 'Home',
  '/connect': 'Connect a script',
  '/account': 'Account',
  '/tokens': 'Tokens',
  '/hosts': 'Hosts',
  '/trash': 'Trash',
  '/compare': 'Compare',
  '/sign-in': 'Sign in',
  '/register': 'Register',
  '/admin/users': 'Users',
  '/admin/agents': 'Agents',
  '/admin/keys': 'Signing keys',
  '/admin/audit': 'Audit log',
}
