import { useEffect, useRef } from 'react';
import SwaggerUI, { type System } from 'swagger-ui-dist/swagger-ui-es-bundle.js';
import type { Description } from './description';
import { keepNamed } from './labels';
import './docs.css';

/** Swagger UI with a layout of this page's, and what it leaves out for those who do not see put in. */
export function Reference({ description }: { description: Description }) {
  const place = useRef<HTMLDivElement>(null);
  useDarkMode();
  useEffect(() => {
    const domNode = place.current;
    if (!domNode) return;
    SwaggerUI({
      domNode,
      spec: description,
      plugins: [plugin],
      layout: 'Layout',
      deepLinking: false, // Its links stand inside of buttons, where no keyboard reaches them.
      defaultModelsExpandDepth: 0,
      validatorUrl: null,
      // Calls leave without the session's cookie: the token says who calls.
      requestInterceptor: (request: object) => ({ ...request, credentials: 'omit' }),
    });
    const stop = keepNamed(domNode);
    return () => {
      stop();
      domNode.replaceChildren();
    };
  }, [description]);
  return <div ref={place} />;
}

// Swagger UI's dark colours are for a document of that class.
function useDarkMode(): void {
  useEffect(() => {
    const dark = globalThis.matchMedia('(prefers-color-scheme: dark)');
    const { classList } = document.documentElement;
    const follow = () => classList.toggle('dark-mode', dark.matches);
    follow();
    dark.addEventListener('change', follow);
    return () => {
      dark.removeEventListener('change', follow);
      classList.remove('dark-mode');
    };
  }, []);
}

// Its components are made with its own React, which it hands over.
function plugin({ React: { createElement: h } }: System) {
  return { components: { Layout: layout(h) } };
}

// Without its own head, server list and main: the page has a heading and a landmark, and there is one server.
function layout(h: System['React']['createElement']) {
  return ({ getComponent }: Pick<System, 'getComponent'>) => {
    const part = (name: string) => h(getComponent(name, true), {});
    return h(
      'div',
      { className: 'swagger-ui' },
      h(getComponent('SvgAssets'), {}),
      h('div', { className: 'authorize-row' }, part('AuthorizeBtnContainer')),
      part('operations'),
      part('Models'),
    );
  };
}
