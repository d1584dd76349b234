import { openEndpoint } from '../../api/endpoints';
import type { EndpointView, InstanceDetail } from '../../api/schema';
import { announce } from '../../ui/announce';

/** Opens the app in a tab of its own. The tab is made at once, because browsers allow that only while a click is handled. */
export async function openInTab(instance: InstanceDetail, endpoint: EndpointView): Promise<void> {
  const tab = window.open('about:blank', '_blank');
  if (tab) tab.opener = null;
  try {
    const place = { project_id: instance.project_id, app_instance_id: instance.id, endpoint: endpoint.name };
    const url = await openEndpoint(place, endpoint.path);
    if (tab) tab.location.replace(url);
    else location.assign(url);
  } catch (error) {
    tab?.close();
    announce('The app could not be opened');
    throw error;
  }
}
