// What the tests use of the client of MCP. Its own types are those of two versions of zod, which take seconds to check.
declare module '@modelcontextprotocol/sdk/client/index.js' {
  export class Client {
    constructor(info: { name: string; version: string })
    connect(transport: object): Promise<void>
    close(): Promise<void>
    getServerVersion(): { name: string } | undefined
    getInstructions(): string | undefined
    listTools(): Promise<{
      tools: { name: string; inputSchema: object; annotations?: { readOnlyHint?: boolean } }[]
    }>
    callTool(call: {
      name: string
      arguments?: object
    }): Promise<{ content: { type: string; text: string }[]; isError?: boolean }>
  }
}
declare module '@modelcontextprotocol/sdk/client/streamableHttp.js' {
  export class StreamableHTTPClientTransport {
    constructor(url: URL, options: { requestInit: { headers: Record<string, string> } })
  }
}
