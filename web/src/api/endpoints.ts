/** Reaching an app's endpoints through the gateway. */
import { call } from './client';
import type { EndpointView } from './schema';

export interface EndpointOf {
  project_id: string;
  app_instance_id: string;
  endpoint: string;
}

/** An address that lets this browser into the app once, to be followed at once. */
export async function openEndpoint(path: EndpointOf, next?: string | null): Promise<string> {
  const opened = await call('post', '/api/v1/projects/{project_id}/app-instances/{app_instance_id}/endpoints/{endpoint}/open', {
    path,
    body: next ? { next } : {},
  });
  // Only an answer that is told again leaves it out, and each call here has a key of its own.
  if (!opened.url) throw new Error('the way into the app was told before');
  return opened.url;
}

/** The endpoint whose page the shell can show, if the app has one and it is reachable. */
export function embeddable(endpoints: EndpointView[]): EndpointView | undefined {
  return endpoints.find((one) => one.mode === 'embedded_ui_gateway' && one.url);
}
