import { testConvergence } from './convergence.ts'

testConvergence({ runs: 40, seconds: 8 })
