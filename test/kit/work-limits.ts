import { createCostBudget } from '../../src/cost-budget.ts'
import { createVisitorPool } from '../../src/visitor-pool.ts'

/** Limits of cost that nothing reaches, for tests of other things. */
export const workLimits = () => ({
  budget: createCostBudget({ visitor: 1e9, credential: 1e9 }),
  visitors: createVisitorPool(),
})
