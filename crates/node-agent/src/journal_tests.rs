use super::*;

const DAY: i64 = 86_400_000_000;

fn record(number: u128) -> Record {
    Record { generation: 7, era: 2, epoch: 3, ..Record::new(Uuid::from_u128(number), 5) }
}

#[test]
fn what_was_written_is_read_again_and_nobody_else_may_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("state");
    {
        let (journal, empty) = Journal::open(&root).unwrap();
        assert!(empty.records.is_empty() && empty.warnings.is_empty());
        journal.write(&record(1)).unwrap();
        journal.write(&Record { generation: 8, ..record(1) }).unwrap();
        journal.write(&record(2)).unwrap();
        journal.write_node(&NodeRecord { era: 4, server_time: 9 }).unwrap();
        journal.forget(Uuid::from_u128(2)).unwrap();
        journal.forget(Uuid::from_u128(2)).unwrap();
    }
    let (_journal, found) = Journal::open(&root).unwrap();
    assert_eq!(found.records, [Record { generation: 8, ..record(1) }]);
    assert_eq!(found.node, NodeRecord { era: 4, server_time: 9 });
    for path in [root.clone(), root.join("instances"), root.join("logs")] {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700, "{}", path.display());
    }
    let file = root.join("instances").join(format!("{}.json", Uuid::from_u128(1)));
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let busy = Journal::open(&root).unwrap_err();
    assert!(busy.to_string().contains("Another agent"), "{busy}");
}

#[test]
fn a_damaged_file_is_named_and_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("instances").join(format!("{}.json", Uuid::from_u128(1)));
    Journal::open(folder.path()).unwrap().0.write(&record(1)).unwrap();
    fs::write(&path, &fs::read(&path).unwrap()[..40]).unwrap();
    fs::write(path.with_extension("new"), "half").unwrap();
    fs::write(folder.path().join("node.json"), "{}").unwrap();
    let (_journal, found) = Journal::open(folder.path()).unwrap();
    assert!(found.records.is_empty());
    assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
    assert!(found.warnings.iter().any(|warning| warning.contains(&Uuid::from_u128(1).to_string())));
    assert!(path.with_extension("json.corrupt").exists() && !path.exists());
    assert!(!path.with_extension("new").exists());
}

#[test]
fn tombstones_are_bounded_but_a_needed_one_is_never_dropped() {
    let now = 100 * DAY;
    let stone = |number: u128, era: u64, at: i64| Record {
        wish: Wish::Gone,
        acknowledged: true,
        updated_at: at,
        era,
        ..record(number)
    };
    let records = [
        stone(1, 2, 90 * DAY),
        stone(2, 2, 80 * DAY),
        stone(3, 1, now - 1),
        stone(4, 2, now - 1),
        Record { acknowledged: false, ..stone(5, 2, 10 * DAY) },
        record(6),
    ];
    let surplus = |most| surplus_tombstones(records.iter(), 2, now, most);
    assert!(surplus(5).is_empty());
    assert_eq!(surplus(4), [Uuid::from_u128(2)], "the oldest goes first");
    let all = surplus(0);
    assert_eq!(all, [Uuid::from_u128(2), Uuid::from_u128(1), Uuid::from_u128(3)], "the rest is needed");
}

/// Brief and small, but a real full disk.
#[test]
fn a_full_disk_is_an_error_and_leaves_the_old_text() {
    let folder = tempfile::tempdir().unwrap();
    let disk = gpuaas_faults::SmallDisk::mount(folder.path());
    let (journal, _) = Journal::open(disk.path()).unwrap();
    journal.write(&record(1)).unwrap();
    disk.fill();
    let mut big = record(1);
    big.order_digest = "x".repeat(20_000);
    let error = journal.write(&big).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    // The end of an instance is written down all the same, several times over.
    for generation in 8..12 {
        let wish = Wish::Stop { grace_seconds: 1 };
        journal.write(&Record { generation, wish, ..record(3) }).unwrap();
    }
    journal.forget(Uuid::from_u128(3)).unwrap();
    disk.relieve();
    journal.write(&Record { generation: 9, ..record(2) }).unwrap();
    drop(journal);
    let (_journal, found) = Journal::open(disk.path()).unwrap();
    let mut generations: Vec<u64> = found.records.iter().map(|record| record.generation).collect();
    generations.sort_unstable();
    assert_eq!((generations, found.warnings.len()), (vec![7, 9], 0));
}
