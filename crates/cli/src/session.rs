//! Calls to one platform, with answers kept as they came.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::OnceLock;

use gpuaas_api::client::{Client, Query};
use gpuaas_api::identity::Because;
use gpuaas_api::{List, Route};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::config::Context;
use crate::failure::{Result, unexpected};
use crate::json::Raw;
use crate::printer::Printer;

/// The largest page the API gives.
const PAGE: usize = 200;

pub(crate) struct Session<'a> {
    pub(crate) app: &'a App,
    pub(crate) client: Client,
    pub(crate) url: String,
    pub(crate) context: Context,
    /// The project as it was typed, if it was.
    pub(crate) typed_project: OnceLock<String>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(app: &'a App, client: Client, url: String, context: Context) -> Self {
        Self { app, client, url, context, typed_project: OnceLock::new() }
    }

    /// A command for the same project: what was typed this time has to be typed again.
    pub(crate) fn again(&self, command: &str) -> String {
        match self.typed_project.get() {
            Some(project) => format!("{command} --project {project}"),
            None => command.to_owned(),
        }
    }

    pub(crate) fn printer(&self) -> &'a Printer {
        &self.app.printer
    }

    pub(crate) async fn read(&self, route: Route, parameters: &[&dyn Display]) -> Result<Raw> {
        Ok(self.client.call::<(), Raw>(route, parameters, None, None).await?)
    }

    /// Reads one thing as a question asks for it.
    pub(crate) async fn read_where(
        &self,
        route: Route,
        parameters: &[&dyn Display],
        query: &(dyn Query + Sync),
    ) -> Result<Raw> {
        let query: BTreeMap<String, String> = query.pairs().into_iter().collect();
        Ok(self.client.call::<(), Raw>(route, parameters, Some(&query), None).await?)
    }

    pub(crate) async fn write<B: Serialize + ?Sized>(
        &self,
        route: Route,
        parameters: &[&dyn Display],
        body: &B,
    ) -> Result<Raw> {
        Ok(self.client.call(route, parameters, None, Some(body)).await?)
    }

    pub(crate) async fn remove(
        &self,
        route: Route,
        parameters: &[&dyn Display],
        reason: Option<&str>,
    ) -> Result<Raw> {
        let because = reason.map(|reason| Because { reason: Some(reason.to_owned()) });
        Ok(self.client.call(route, parameters, None, because.as_ref()).await?)
    }

    /// Does something to an object that takes nothing but a reason, and shows what became of it.
    pub(crate) async fn act(
        &self,
        route: Route,
        parameters: &[&dyn Display],
        reason: Option<String>,
        done: &str,
    ) -> Result<()> {
        let raw = self.write(route, parameters, &Because { reason }).await?;
        self.printer().object(&raw)?;
        self.printer().note(done);
        Ok(())
    }

    /// Reads a list page by page until its end or `limit`.
    pub(crate) async fn list(
        &self,
        route: Route,
        parameters: &[&dyn Display],
        query: &(dyn Query + Sync),
        limit: Option<usize>,
    ) -> Result<List<Raw>> {
        let mut query: BTreeMap<String, String> = query.pairs().into_iter().collect();
        let mut all = List { items: Vec::new(), next_cursor: None };
        loop {
            let want = limit.map_or(PAGE, |limit| limit.saturating_sub(all.items.len()).min(PAGE));
            if want == 0 {
                return Ok(all);
            }
            query.insert("limit".into(), want.to_string());
            let page: List<Raw> = self.client.call::<(), _>(route, parameters, Some(&query), None).await?;
            all.items.extend(page.items);
            // An empty page that promises more would keep us here for ever.
            let stuck = page.next_cursor.is_some() && page.next_cursor == all.next_cursor;
            all.next_cursor = page.next_cursor;
            match &all.next_cursor {
                Some(cursor) if !stuck => {
                    // The position is in the cursor; a start beside it would contradict it.
                    query.remove("after");
                    query.insert("cursor".into(), cursor.clone());
                }
                Some(_) | None => return Ok(all),
            }
        }
    }

    pub(crate) async fn list_all<T: DeserializeOwned>(
        &self,
        route: Route,
        parameters: &[&dyn Display],
    ) -> Result<Vec<T>> {
        self.list_where(route, parameters, &()).await
    }

    pub(crate) async fn list_where<T: DeserializeOwned>(
        &self,
        route: Route,
        parameters: &[&dyn Display],
        query: &(dyn Query + Sync),
    ) -> Result<Vec<T>> {
        let list = self.list(route, parameters, query, None).await?;
        list.items.iter().map(|raw| parse(raw)).collect()
    }
}

pub(crate) fn parse<T: DeserializeOwned>(raw: &Raw) -> Result<T> {
    serde_json::from_str(raw.get()).map_err(|source| unexpected(&source))
}
