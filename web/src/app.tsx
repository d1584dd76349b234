import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { Component, lazy, type ReactNode, Suspense, useState } from 'react';
import { Route, Switch, useLocation } from 'wouter';
import { ApiError } from './api/error';
import { Layout } from './layout';
import Catalog from './pages/catalog';
import Home from './pages/home';
import SignIn from './pages/sign-in';
import Workloads from './pages/workloads';
import { SessionProvider, useSession } from './session/session';
import { LinkButton, Page } from './ui/basics';
import { Empty, Loading, Problem } from './ui/states';

// What most visits do not need comes when it is asked for.
const Launch = lazy(() => import('./pages/launch'));
const Workload = lazy(() => import('./pages/workload'));
const Open = lazy(() => import('./pages/open'));
const Allocations = lazy(() => import('./pages/allocations'));
const Nodes = lazy(() => import('./pages/nodes'));
const Tokens = lazy(() => import('./pages/tokens'));
const ServiceAccounts = lazy(() => import('./pages/service-accounts'));
const Entitlements = lazy(() => import('./pages/entitlements'));
const Audit = lazy(() => import('./pages/audit'));
const Artifacts = lazy(() => import('./pages/artifacts'));

function newClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5000,
        // A refusal stays one; what may pass is tried again.
        retry: (count, error) => (error instanceof ApiError ? error.isPassing && count < 2 : count < 1),
      },
    },
  });
}

/** A fault in one view must not take the others away. */
class Fence extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };
  static getDerivedStateFromError() {
    return { failed: true };
  }
  override render() {
    if (!this.state.failed) return this.props.children;
    return <Problem error={null} title="This page could not be shown" retry={() => location.reload()} />;
  }
}

function NotFound() {
  return (
    <Page title="No such page">
      <Empty title="There is nothing at this address" action={<LinkButton href="/">Go home</LinkButton>} />
    </Page>
  );
}

/** Pages start anew with another project: nothing of one may stay on screen under the name of the other. */
function Pages() {
  const { project } = useSession();
  const [location] = useLocation();
  return (
    <Fence key={`${project.id} ${location.split('/')[1]}`}>
      <Suspense fallback={<Loading what="the page" />}>
        <Switch>
          <Route path="/" component={Home} />
          <Route path="/catalog" component={Catalog} />
          <Route path="/launch/:slug">{({ slug }) => <Launch key={slug} slug={slug} />}</Route>
          <Route path="/workloads" component={Workloads} />
          <Route path="/workloads/instance/:id">{({ id }) => <Workload key={id} id={id} />}</Route>
          <Route path="/open/:label">{({ label }) => <Open label={label} />}</Route>
          <Route path="/allocations" component={Allocations} />
          <Route path="/artifacts" component={Artifacts} />
          <Route path="/entitlements" component={Entitlements} />
          <Route path="/service-accounts" component={ServiceAccounts} />
          <Route path="/audit" component={Audit} />
          <Route path="/nodes" component={Nodes} />
          <Route path="/tokens" component={Tokens} />
          <Route component={NotFound} />
        </Switch>
      </Suspense>
    </Fence>
  );
}

export function App() {
  const [client] = useState(newClient);
  return (
    <QueryClientProvider client={client}>
      <Switch>
        <Route path="/sign-in" component={SignIn} />
        <Route>
          <SessionProvider>
            <Layout>
              <Pages />
            </Layout>
          </SessionProvider>
        </Route>
      </Switch>
    </QueryClientProvider>
  );
}
