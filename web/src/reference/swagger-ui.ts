import 'swagger-ui-dist/swagger-ui.css'
import './swagger-ui.css'
import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js'
import { chosenTheme } from './chosen-theme.ts'

export function showSwaggerUi(root: HTMLElement): void {
  followTheme()
  SwaggerUI({
    // Beside the page.
    url: 'openapi.json',
    domNode: root,
    deepLinking: true,
    defaultModelRendering: 'model',
    filter: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    requestSnippetsEnabled: true,
    // It would send the document to a server of Swagger.
    validatorUrl: null,
  })
}

/** Swagger UI is dark if the document has this class. */
function followTheme(): void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const apply = () => {
    const theme = chosenTheme() ?? (system.matches ? 'dark' : 'light')
    document.documentElement.classList.toggle('dark-mode', theme === 'dark')
    document.documentElement.style.colorScheme = theme
  }
  apply()
  system.addEventListener('change', apply)
  addEventListener('storage', apply)
}
