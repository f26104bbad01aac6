// The bundle has no types of its own; this is what the page uses of it.
declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  export type Component = (props: object) => unknown;

  export interface System {
    React: { createElement: (type: string | Component, props: object, ...children: unknown[]) => unknown };
    getComponent: (name: string, container?: boolean) => Component;
  }

  export default function SwaggerUI(options: Record<string, unknown>): void;
}
