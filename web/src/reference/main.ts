// The script of graphiql.html and of api-docs.html. It imports each of the two on demand, so that the bundler puts
// nothing of them into the files that the app loads first.
const graphiql = document.getElementById('graphiql')
const apiDocs = document.getElementById('api-docs')
if (graphiql !== null) void import('./graphiql.tsx').then(({ showGraphiql }) => showGraphiql(graphiql))
if (apiDocs !== null) void import('./swagger-ui.ts').then(({ showSwaggerUi }) => showSwaggerUi(apiDocs))
