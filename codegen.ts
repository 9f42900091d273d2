import type { CodegenConfig } from '@graphql-codegen/cli'

/**
 * Typed documents for the pages, from the schema that is checked in: `npx graphql-codegen`. Documents stay text, so the
 * pages carry no parser.
 */
export default {
  schema: 'schemas/schema.graphql',
  documents: ['web/src/**/*.{ts,tsx}', '!web/src/__generated__/**'],
  ignoreNoDocuments: true,
  generates: {
    'web/src/__generated__/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false },
      config: {
        documentMode: 'string',
        useTypeImports: true,
        enumsAsTypes: true,
        strictScalars: true,
        defaultScalarType: 'unknown',
        scalars: {
          DateTime: 'string',
          Number: { input: 'number | string', output: "number | 'NaN' | 'Infinity' | '-Infinity'" },
          JSON: 'Record<string, unknown>',
        },
      },
    },
  },
} satisfies CodegenConfig
