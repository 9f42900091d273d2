import { testConvergence } from './convergence.ts'

testConvergence({ runs: 400, seconds: 50 })
