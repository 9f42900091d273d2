declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  /** https://swagger.io/docs/open-source-tools/swagger-ui/usage/configuration/ */
  export default function SwaggerUI(options: {
    url: string
    domNode: HTMLElement
    deepLinking?: boolean
    defaultModelRendering?: 'example' | 'model'
    filter?: boolean
    defaultModelsExpandDepth?: number
    displayRequestDuration?: boolean
    requestSnippetsEnabled?: boolean
    validatorUrl?: string | null
  }): unknown
}
