/** An OpenAPI document, as far as this page reads it. */
export interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { securitySchemes?: Record<string, unknown> };
}

interface Operation {
  description?: string;
  responses?: Record<string, { content?: unknown }>;
  security?: Record<string, unknown>[];
  'x-budgets'?: string[];
}

/**
 * The description as the page shows it: each route says which budgets it charges, and a bearer token is the one way to
 * say who calls, since calls from here never bear the session's cookie.
 */
export function shownDescription(description: Description): Description {
  const paths = Object.entries(description.paths).map(([path, operations]) => [path, mapOperations(operations)]);
  const { bearer } = description.components.securitySchemes ?? {};
  return {
    ...description,
    paths: Object.fromEntries(paths),
    components: { ...description.components, securitySchemes: { bearer } },
  };
}

function mapOperations(operations: Record<string, Operation>): Record<string, Operation> {
  return Object.fromEntries(Object.entries(operations).map(([method, operation]) => [method, shown(operation)]));
}

function shown(operation: Operation): Operation {
  const budgets = (operation['x-budgets'] ?? []).map((name) => `\`${name}\``).join(', ');
  const charged = budgets && `Charged: ${budgets}.`;
  return {
    ...operation,
    responses: Object.fromEntries(Object.entries(operation.responses ?? {}).map(withoutProblem)),
    description: [operation.description, charged].filter(Boolean).join('\n\n'),
    ...(operation.security && { security: operation.security.filter((way) => !('session' in way)) }),
  };
}

// Every failure has the same body, which is shown once, among the schemas.
function withoutProblem([status, response]: [string, { content?: unknown }]): [string, object] {
  const { content, ...rest } = response;
  return [status, status.startsWith('2') ? response : rest];
}
