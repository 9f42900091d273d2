import type { CodegenConfig } from '@graphql-codegen/cli'

/**
 * Typed documents for the page: `npm run generate` reads the .graphql files that stand beside the code that asks, and the
 * schema as the code builds it. Documents stay text, so the page carries no parser, and each is an export of its own, so
 * that a page loads only those it asks.
 */
export default {
  schema: 'schemas/schema.graphql',
  documents: 'web/src/**/*.graphql',
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
          Step: 'number',
          JSON: 'Record<string, unknown>',
        },
      },
    },
  },
} satisfies CodegenConfig
