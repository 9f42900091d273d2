import { pagePath } from '../lib/served.ts'
import './theme.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { fixBrowserLanguage } from '../lib/language.ts'
import { beforeRead } from '../lib/live/read-cursors.ts'
import { meQuery, readAhead } from '../lib/queries.ts'
import { queryClient } from '../lib/query-client.ts'
import { startTheme } from '../lib/theme.ts'
import { startPulse } from '../ui/pulse.ts'
import { Toasts } from '../ui/toasts.tsx'
import { Confirmation } from './confirmation.tsx'
import { startFonts } from './fonts.ts'
import { router } from './router.tsx'

fixBrowserLanguage()
startTheme()
startPulse()
startFonts()
// Every page needs these, so they are requested while it renders.
if (!/^\/(sign-in|register)$/.test(pagePath())) void beforeRead()
void queryClient.prefetchQuery(meQuery)
readAhead(pagePath())
const root = document.getElementById('root')
if (root === null) throw new Error('the page has no root')
createRoot(root).render(
  <QueryClientProvider client={queryClient}>
    <RouterProvider router={router} />
    <Toasts />
    <Confirmation />
  </QueryClientProvider>,
)
