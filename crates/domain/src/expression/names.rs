//! Names in groups: `params.model`, `placement.lanes.a.gpus`. Types and values are kept the same way.

use std::collections::BTreeMap;

/// A value, or a group of more names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Names<T> {
    pub(super) value: Option<T>,
    pub(super) members: BTreeMap<String, Names<T>>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { value: None, members: BTreeMap::new() }
    }
}

impl<T> Names<T> {
    /// What stands at the path, made an empty group where nothing is there yet.
    pub(super) fn make(&mut self, path: &[&str]) -> &mut Self {
        path.iter().fold(self, |group, name| {
            // The groups are nearly always there, and then nothing is copied.
            if !group.members.contains_key(*name) {
                group.members.insert((*name).to_owned(), Self::default());
            }
            group.members.get_mut(*name).expect("it is there now")
        })
    }

    pub(super) fn insert(&mut self, path: &[&str], value: T) {
        self.make(path).value = Some(value);
    }

    pub(super) fn find<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Option<&T> {
        let mut here = self;
        for name in path {
            here = here.members.get(name)?;
        }
        here.value.as_ref()
    }
}
